/** Goal: what `kubecon.test.ts` says of simulated clusters holds for real ones. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { realScenarioCluster } from "./real-cluster.ts";
import { testKubeconScenario } from "./test-scenarios.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("KubeCon 2021 on real clusters", { skip: missing ?? false }, () => {
  testKubeconScenario(realScenarioCluster);
});
