/** Goal: what `prototype2.test.ts` says of simulated clusters holds for real ones. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { playsPrototype2 } from "./plays.ts";
import { realStageCluster } from "./real-cluster.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("the second prototype on real clusters", { skip: missing ?? false }, () => {
  playsPrototype2(realStageCluster);
});
