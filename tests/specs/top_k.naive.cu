/*kfactory
{ "plan": 1,
  "hypothesis": "one thread a row keeps the four largest in order",
  "kernels": [{"name": "top_k_naive", "grid": ["ceil_div(M, 32)"], "block": ["32"],
               "args": ["x", "value", "index", "M:i64", "N:i64"]}] }
*/
extern "C" __global__ void top_k_naive(const T* x, T* value, int* index, long long M, long long N) {
  const long long row = blockIdx.x * 32ll + threadIdx.x;
  if (row >= M) {
    return;
  }
  x += row * N;
  float most[4];
  int at[4], kept = 0;
  for (int i = 0; i < N; ++i) {
    const float own = static_cast<float>(x[i]);
    int place = kept;
    while (place > 0 && own > most[place - 1]) {
      --place;
    }
    if (place == 4) {
      continue;
    }
    kept = kept < 4 ? kept + 1 : 4;
    for (int rank = kept - 1; rank > place; --rank) {
      most[rank] = most[rank - 1];
      at[rank] = at[rank - 1];
    }
    most[place] = own;
    at[place] = i;
  }
  for (int rank = 0; rank < 4; ++rank) {
    value[row * 4 + rank] = static_cast<T>(most[rank]);
    index[row * 4 + rank] = at[rank];
  }
}
