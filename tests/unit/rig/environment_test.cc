// SPDX-License-Identifier: Apache-2.0
#include "rig/environment.h"

#include <gtest/gtest.h>

namespace kf {
namespace {

TEST(Environment, KnowsASecretByItsName) {
  for (const char* name : {"OPENAI_API_KEY", "HF_TOKEN", "MY_SECRET_THING", "db_password", "AWS_ACCESS_KEY_ID",
                           "SSH_KEY", "GITHUB_TOKEN", "KFACTORY_API_KEY", "X_CREDENTIALS", "NPM_AUTH"}) {
    EXPECT_TRUE(names_a_secret(name)) << name;
    EXPECT_FALSE(worker_may_see(name)) << name;
    EXPECT_FALSE(launcher_may_see(name)) << name;
  }
}

TEST(Environment, LeavesAWorkerWhatFindsProgramsAndDevices) {
  for (const char* name :
       {"PATH", "HOME", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "LC_ALL"}) {
    EXPECT_TRUE(worker_may_see(name)) << name;
  }
  for (const char* name : {"SLURM_JOB_ID", "EDITOR", "SSH_AUTH_SOCK", "http_proxy", ""}) {
    EXPECT_FALSE(worker_may_see(name)) << name;
  }
}

TEST(Environment, LeavesALauncherEverythingElse) {
  for (const char* name : {"SLURM_JOB_ID", "SSH_AUTH_SOCK", "PATH", "KEYBOARD", "MONKEY"}) {
    EXPECT_TRUE(launcher_may_see(name)) << name;
  }
}

}  // namespace
}  // namespace kf
