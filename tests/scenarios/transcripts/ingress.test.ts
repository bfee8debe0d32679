/** Goal: the ingress demo of 2021 can be typed, and the Ingress is where the application is. */

import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { testIngressScenario } from "./plays.ts";
import { simulatedScenarioCluster } from "./stage.ts";

describe("an Ingress on simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  testIngressScenario(simulatedScenarioCluster);
});
