/** The transcripts as tests: each scenario is one, and they are played in order on one stage. */
import { after, before, it } from "node:test";
import { cordon } from "./cordon.ts";
import { httpecho, ingressStory } from "./ingress.ts";
import { integrationDefinitions, kubecon, myDeployment } from "./kubecon.ts";
import { byHand, negotiation } from "./negotiation.ts";
import { prototype2 } from "./prototype2.ts";
import { binding, offer, quickstart } from "./quickstart.ts";
import { rollouts } from "./rollouts.ts";
import { logEverywhere, numberedDatabase, setRollouts } from "./set-rollouts.ts";
import { Stage, type StageCluster, type StageOptions, simulated } from "./stage.ts";
import { readTranscript } from "./transcript.ts";

type Starts = (name: string) => Promise<StageCluster>;

export function playsKubecon(start: Starts): void {
  plays(kubecon + cordon, {
    clusters: eastAndWest(start),
    files: { "integrations.yaml": integrationDefinitions, "my-deployment.yaml": myDeployment },
  });
}

export function playsRollouts(start: Starts): void {
  plays(rollouts, { clusters: eastAndWest(start), files: {} });
}

export function playsSetRollouts(start: Starts): void {
  const files = { "db.yaml": numberedDatabase, "log.yaml": logEverywhere };
  plays(setRollouts, { clusters: eastAndWest(start), files });
}

export function playsQuickstart(start: Starts): void {
  plays(quickstart, {
    clusters: new Map([["us-east1", () => start("us-east1")]]),
    files: { "offer.yaml": offer, "binding.yaml": binding },
  });
}

export function playsIngress(start: Starts): void {
  plays(ingressStory, { clusters: eastAndWest(start), files: { "httpecho.yaml": httpecho } });
}

export function playsPrototype2(start: Starts): void {
  plays(prototype2, {
    // A lost cluster is given up soon: somebody waits at the terminal.
    physicalClusters: { patience: { graceMs: 3000, settleMs: 0 } },
    clusters: eastAndWest(start),
    pulled: ["deployments.apps"],
    files: {},
  });
}

function eastAndWest(start: Starts): StageOptions["clusters"] {
  return new Map(["us-east1", "us-west1"].map((name) => [name, () => start(name)]));
}

/** The older cluster is a simulated one in any case. */
export function playsNegotiation(startNewer: Starts): void {
  plays(negotiation, {
    physicalClusters: { autoPublishApis: false },
    clusters: new Map([
      ["us-east1", () => startNewer("us-east1")],
      ["us-west1", () => simulated("us-west1", "1.28")],
    ]),
    files: { "by-hand.yaml": byHand },
  });
}

function plays(text: string, options: StageOptions): void {
  let stage: Stage;
  before(async () => {
    stage = await Stage.set(options);
  });
  after(() => stage?.close());
  for (const scenario of readTranscript(text))
    it(scenario.title, () => stage.terminal.play(scenario));
}
