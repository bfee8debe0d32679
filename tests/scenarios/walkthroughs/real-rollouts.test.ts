/** Goal: what `rollouts.test.ts` says of simulated clusters holds for real ones. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { realScenarioCluster } from "./real-cluster.ts";
import { testRolloutsScenario } from "./test-scenarios.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("rollouts over real clusters", { skip: missing ?? false }, () => {
  testRolloutsScenario(realScenarioCluster);
});
