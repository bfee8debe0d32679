/** Goal: one workspace uses the clusters of another, from registration to leaving. */

import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { testQuickstartScenario } from "./plays.ts";
import { simulatedScenarioCluster } from "./stage.ts";

describe("the quickstart over a simulated cluster", { skip: kubectlMissing() ?? false }, () => {
  testQuickstartScenario(simulatedScenarioCluster);
});
