/** The scenarios as tests: each scenario is one test, and they run in order in one environment. */
import { after, before, it } from "node:test";
import { cordonScenario } from "./cordon.ts";
import { httpecho, ingressScenario } from "./ingress.ts";
import { integrationDefinitions, kubeconScenario, myDeployment } from "./kubecon.ts";
import { manualDefinition, negotiationScenario } from "./negotiation.ts";
import { prototype2Scenario } from "./prototype2.ts";
import { binding, computeExport, quickstartScenario } from "./quickstart.ts";
import { rolloutsScenario } from "./rollouts.ts";
import { parseScenarios } from "./scenario.ts";
import {
  type ScenarioCluster,
  ScenarioEnvironment,
  type ScenarioEnvironmentOptions,
  simulatedScenarioCluster,
} from "./scenario-environment.ts";
import { databaseStatefulSet, logDaemonSet, setRolloutsScenario } from "./set-rollouts.ts";

type Starts = (name: string) => Promise<ScenarioCluster>;

export function testKubeconScenario(start: Starts): void {
  testScenarios(kubeconScenario + cordonScenario, {
    clusters: eastAndWest(start),
    files: { "integrations.yaml": integrationDefinitions, "my-deployment.yaml": myDeployment },
  });
}

export function testRolloutsScenario(start: Starts): void {
  testScenarios(rolloutsScenario, { clusters: eastAndWest(start), files: {} });
}

export function testSetRolloutsScenario(start: Starts): void {
  const files = { "db.yaml": databaseStatefulSet, "log.yaml": logDaemonSet };
  testScenarios(setRolloutsScenario, { clusters: eastAndWest(start), files });
}

export function testQuickstartScenario(start: Starts): void {
  testScenarios(quickstartScenario, {
    clusters: new Map([["us-east1", () => start("us-east1")]]),
    files: { "offer.yaml": computeExport, "binding.yaml": binding },
  });
}

export function testIngressScenario(start: Starts): void {
  testScenarios(ingressScenario, {
    clusters: eastAndWest(start),
    files: { "httpecho.yaml": httpecho },
  });
}

export function testPrototype2Scenario(start: Starts): void {
  testScenarios(prototype2Scenario, {
    // A lost cluster is given up soon: somebody waits at the terminal.
    physicalClusters: { gracePeriods: { unreachableAfterMs: 3000, recoveryMs: 0 } },
    clusters: eastAndWest(start),
    pulled: ["deployments.apps"],
    files: {},
  });
}

function eastAndWest(start: Starts): ScenarioEnvironmentOptions["clusters"] {
  return new Map(["us-east1", "us-west1"].map((name) => [name, () => start(name)]));
}

/** The older cluster is a simulated one in any case. */
export function testNegotiationScenario(startNewer: Starts): void {
  testScenarios(negotiationScenario, {
    physicalClusters: { autoPublishApis: false },
    clusters: new Map([
      ["us-east1", () => startNewer("us-east1")],
      ["us-west1", () => simulatedScenarioCluster("us-west1", "1.28")],
    ]),
    files: { "by-hand.yaml": manualDefinition },
  });
}

function testScenarios(text: string, options: ScenarioEnvironmentOptions): void {
  let environment: ScenarioEnvironment;
  before(async () => {
    environment = await ScenarioEnvironment.start(options);
  });
  after(() => environment?.close());
  for (const scenario of parseScenarios(text))
    it(scenario.title, () => environment.terminal.run(scenario));
}
