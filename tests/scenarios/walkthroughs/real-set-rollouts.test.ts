/** Goal: what `set-rollouts.test.ts` says of simulated clusters holds for real ones. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { realScenarioCluster } from "./real-cluster.ts";
import { testSetRolloutsScenario } from "./test-scenarios.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("rollouts of sets over real clusters", { skip: missing ?? false }, () => {
  testSetRolloutsScenario(realScenarioCluster);
});
