/**
 * Goal: the second prototype's story can be typed: first the workload, then the clusters, one of
 * which is lost.
 */
import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { simulatedScenarioCluster } from "./scenario-environment.ts";
import { testPrototype2Scenario } from "./test-scenarios.ts";

describe("the second prototype on simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  testPrototype2Scenario(simulatedScenarioCluster);
});
