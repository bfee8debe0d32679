/** Goal: APIs are negotiated as in the demo of 2021: published on demand, narrowed only when somebody says so, and never where a definition is made by hand. */

import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { testNegotiationScenario } from "./plays.ts";
import { simulatedScenarioCluster } from "./stage.ts";

describe("negotiation among simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  testNegotiationScenario(simulatedScenarioCluster);
});
