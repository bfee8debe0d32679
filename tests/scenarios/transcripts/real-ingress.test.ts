/** Goal: what `ingress.test.ts` says of simulated clusters holds for real ones. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { playsIngress } from "./plays.ts";
import { realStageCluster } from "./real-cluster.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("an Ingress on real clusters", { skip: missing ?? false }, () => {
  playsIngress(realStageCluster);
});
