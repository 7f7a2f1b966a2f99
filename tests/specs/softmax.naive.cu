/*kfactory
{ "plan": 1,
  "hypothesis": "one block a row, three passes",
  "kernels": [{"name": "softmax_naive", "grid": ["M"], "block": ["256"], "args": ["x", "y", "N:i64"]}] }
*/

extern "C" __global__ void __launch_bounds__(256) softmax_naive(const T* x, T* y, long long N) {
  __shared__ float parts[256];
  x += blockIdx.x * N;
  y += blockIdx.x * N;

  float largest = -INFINITY;
  for (long long i = threadIdx.x; i < N; i += 256) {
    const float value = static_cast<float>(x[i]);
    largest = value > largest || value != value ? value : largest;  // NaN stays
  }
  parts[threadIdx.x] = largest;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const float other = parts[threadIdx.x + half];
      const float own = parts[threadIdx.x];
      parts[threadIdx.x] = other > own || other != other ? other : own;
    }
    __syncthreads();
  }
  largest = parts[0];
  __syncthreads();

  float sum = 0.0f;
  for (long long i = threadIdx.x; i < N; i += 256) {
    sum += expf(static_cast<float>(x[i]) - largest);
  }
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      parts[threadIdx.x] += parts[threadIdx.x + half];
    }
    __syncthreads();
  }
  sum = parts[0];
  for (long long i = threadIdx.x; i < N; i += 256) {
    y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - largest) / sum);
  }
}
