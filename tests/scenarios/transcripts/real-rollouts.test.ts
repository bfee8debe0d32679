/** Goal: what `rollouts.test.ts` says of simulated clusters holds for real ones. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { playsRollouts } from "./plays.ts";
import { realStageCluster } from "./real-cluster.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("rollouts over real clusters", { skip: missing ?? false }, () => {
  playsRollouts(realStageCluster);
});
