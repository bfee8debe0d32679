/** Goal: a whole is rolled out, undone and restarted as any Deployment. */
import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { simulatedScenarioCluster } from "./scenario-environment.ts";
import { testRolloutsScenario } from "./test-scenarios.ts";

describe("rollouts over simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  testRolloutsScenario(simulatedScenarioCluster);
});
