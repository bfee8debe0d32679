/** Goal: a whole is rolled out, undone and restarted as any StatefulSet or DaemonSet. */
import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { simulatedScenarioCluster } from "./scenario-environment.ts";
import { testSetRolloutsScenario } from "./test-scenarios.ts";

describe("rollouts of sets over simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  testSetRolloutsScenario(simulatedScenarioCluster);
});
