/**
 * Goal: APIs are negotiated as in the demo of 2021: published on demand, narrowed only on request,
 * and never where a CRD was created by hand.
 */
import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { simulatedScenarioCluster } from "./scenario-environment.ts";
import { testNegotiationScenario } from "./test-scenarios.ts";

describe("negotiation among simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  testNegotiationScenario(simulatedScenarioCluster);
});
