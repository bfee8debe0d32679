/** Goal: what `ingress.test.ts` says of simulated clusters holds for real ones. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { realScenarioCluster } from "./real-cluster.ts";
import { testIngressScenario } from "./test-scenarios.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("an Ingress on real clusters", { skip: missing ?? false }, () => {
  testIngressScenario(realScenarioCluster);
});
