/** Goal: the demo of 2021 can be typed, and prints what it printed then; with real clusters, too, where there are any. */
import { after, before, describe, it } from "node:test";
import { kubeControllerManagerMissing } from "@kcp-ts/testkit";
import { integrationDefinitions, kubecon, myDeployment } from "./kubecon.ts";
import { rollouts } from "./rollouts.ts";
import { real, Stage, type StageCluster, simulated } from "./stage.ts";
import { kubectlMissing } from "./terminal.ts";
import { readTranscript } from "./transcript.ts";

function plays(clusterOf: (name: string) => Promise<StageCluster>): void {
  let stage: Stage;
  before(async () => {
    const names = ["us-east1", "us-west1"];
    const clusters = new Map(names.map((name) => [name, () => clusterOf(name)]));
    stage = await Stage.set({ clusters });
    await stage.terminal.write("integrations.yaml", integrationDefinitions);
    await stage.terminal.write("my-deployment.yaml", myDeployment);
  });
  after(() => stage?.close());
  for (const scenario of readTranscript(kubecon + rollouts))
    it(scenario.title, () => stage.terminal.play(scenario));
}

describe("KubeCon 2021 on simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  plays(simulated);
});

const missing = kubectlMissing() ?? kubeControllerManagerMissing();
describe("KubeCon 2021 on real clusters", { skip: missing ?? false }, () => {
  plays(real);
});
