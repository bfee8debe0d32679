/** Goal: what `negotiation.test.ts` says of simulated clusters holds for real ones. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { realScenarioCluster } from "./real-cluster.ts";
import { testNegotiationScenario } from "./test-scenarios.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("negotiation with a real cluster", { skip: missing ?? false }, () => {
  testNegotiationScenario(realScenarioCluster);
});
