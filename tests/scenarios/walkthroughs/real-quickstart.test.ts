/** Goal: what `quickstart.test.ts` says of a simulated cluster holds for a real one. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { realScenarioCluster } from "./real-cluster.ts";
import { testQuickstartScenario } from "./test-scenarios.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("the quickstart over a real cluster", { skip: missing ?? false }, () => {
  testQuickstartScenario(realScenarioCluster);
});
