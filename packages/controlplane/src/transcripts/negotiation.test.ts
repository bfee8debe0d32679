/** Goal: APIs are negotiated as in the demo of 2021: published on demand, narrowed only when somebody says so, and never where a definition is made by hand. */
import { after, before, describe, it } from "node:test";
import { kubeControllerManagerMissing } from "@kcp-ts/testkit";
import { byHand, negotiation } from "./negotiation.ts";
import { real, Stage, type StageCluster, simulated } from "./stage.ts";
import { kubectlMissing } from "./terminal.ts";
import { readTranscript } from "./transcript.ts";

/** The older cluster is a simulated one in any case. */
function plays(newer: (name: string) => Promise<StageCluster>): void {
  let stage: Stage;
  before(async () => {
    const clusters = new Map([
      ["us-east1", () => newer("us-east1")],
      ["us-west1", () => simulated("us-west1", "1.28")],
    ]);
    const physicalClusters = { autoPublishApis: false };
    stage = await Stage.set({ physicalClusters, clusters });
    await stage.terminal.write("by-hand.yaml", byHand);
  });
  after(() => stage?.close());
  for (const scenario of readTranscript(negotiation))
    it(scenario.title, () => stage.terminal.play(scenario));
}

describe("negotiation among simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  plays(simulated);
});

const missing = kubectlMissing() ?? kubeControllerManagerMissing();
describe("negotiation with a real cluster", { skip: missing ?? false }, () => {
  plays(real);
});
