/** Goal: what `negotiation.test.ts` says of simulated clusters holds for real ones. */
import { describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { playsNegotiation } from "./plays.ts";
import { realStageCluster } from "./real-cluster.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("negotiation with a real cluster", { skip: missing ?? false }, () => {
  playsNegotiation(realStageCluster);
});
