/** Goal: what `prototype2.test.ts` says of simulated clusters holds for real ones. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { realScenarioCluster } from "./real-cluster.ts";
import { testPrototype2Scenario } from "./test-scenarios.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("the second prototype on real clusters", { skip: missing ?? false }, () => {
  testPrototype2Scenario(realScenarioCluster);
});
