/** Goal: what `set-rollouts.test.ts` says of simulated clusters holds for real ones. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { testSetRolloutsScenario } from "./plays.ts";
import { realScenarioCluster } from "./real-cluster.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("rollouts of sets over real clusters", { skip: missing ?? false }, () => {
  testSetRolloutsScenario(realScenarioCluster);
});
