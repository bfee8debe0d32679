/** Goal: what `quickstart.test.ts` says of a simulated cluster holds for a real one. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { playsQuickstart } from "./plays.ts";
import { realStageCluster } from "./real-cluster.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("the quickstart over a real cluster", { skip: missing ?? false }, () => {
  playsQuickstart(realStageCluster);
});
