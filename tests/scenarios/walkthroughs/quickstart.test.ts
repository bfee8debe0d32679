/** Goal: one workspace uses the clusters of another, from registration to leaving. */
import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { simulatedScenarioCluster } from "./scenario-environment.ts";
import { testQuickstartScenario } from "./test-scenarios.ts";

describe("the quickstart over a simulated cluster", { skip: kubectlMissing() ?? false }, () => {
  testQuickstartScenario(simulatedScenarioCluster);
});
