/** Goal: the ingress demo of 2021 can be typed, and the Ingress is where the application is. */
import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { simulatedScenarioCluster } from "./scenario-environment.ts";
import { testIngressScenario } from "./test-scenarios.ts";

describe("an Ingress on simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  testIngressScenario(simulatedScenarioCluster);
});
