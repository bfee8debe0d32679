/** Goal: what `kubecon.test.ts` says of simulated clusters holds for real ones. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { playsKubecon } from "./plays.ts";
import { realStageCluster } from "./real-cluster.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("KubeCon 2021 on real clusters", { skip: missing ?? false }, () => {
  playsKubecon(realStageCluster);
});
