#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What suite.py takes for the right verdict."""
import unittest

from suite import judge

PASSED = {"verdict": {"passed": True, "gate": "perturbation", "reason": "", "message": ""}}


def refused(gate, reason, message=""):
    return {"verdict": {"passed": False, "gate": gate, "reason": reason, "message": message}}


class Judge(unittest.TestCase):
    facts = {"refused by": "check: checker", "on cuda": "check: mismatch or passes"}

    def right(self, device, alone, evaluation, facts=None, kind="cheats"):
        return judge(kind, device, alone, facts or self.facts, evaluation)[2]

    def test_what_may_pass_on_a_gpu_alone_may_pass_there_only(self):
        self.assertTrue(self.right("cuda", True, PASSED))
        self.assertTrue(self.right("cuda", True, refused("check", "mismatch")))
        self.assertFalse(self.right("cuda", True, refused("check", "unwritten")))
        self.assertFalse(self.right("cuda", False, PASSED))
        self.assertFalse(self.right("emulator", False, PASSED))

    def test_a_cheat_must_be_refused_for_its_own_reason(self):
        facts = {"refused by": "check: mismatch, unwritten or repeat: not_repeatable"}
        for gate, reason in (("check", "mismatch"), ("check", "unwritten"), ("repeat", "not_repeatable")):
            self.assertTrue(self.right("emulator", False, refused(gate, reason), facts))
        self.assertFalse(self.right("emulator", False, refused("repeat", "mismatch"), facts))
        self.assertFalse(self.right("emulator", False, PASSED, facts))
        self.assertFalse(self.right("emulator", False, None, facts))

    def test_honest_kernels_must_pass(self):
        self.assertTrue(self.right("emulator", False, PASSED, {}, "honest"))
        self.assertFalse(self.right("emulator", False, refused("check", "mismatch"), {}, "honest"))


if __name__ == "__main__":
    unittest.main()
