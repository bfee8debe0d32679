/** Goal: docs/guides/operators.md tells the truth. */
import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { simulatedClusters } from "../test-environments/index.ts";
import { testOperatorsGuide } from "./operators.ts";

describe("operators on simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  testOperatorsGuide(simulatedClusters);
});
