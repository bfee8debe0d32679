/** Goal: the demo of 2021 can be typed, and prints what it printed then. */
import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { simulatedScenarioCluster } from "./scenario-environment.ts";
import { testKubeconScenario } from "./test-scenarios.ts";

describe("KubeCon 2021 on simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  testKubeconScenario(simulatedScenarioCluster);
});
