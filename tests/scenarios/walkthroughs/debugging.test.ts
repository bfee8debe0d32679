/**
 * Goal: docs/guides/debugging.md tells the truth, in both modes: its blocks are typed into a
 * terminal, with the kubectl of this machine.
 */
import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { simulatedClusters } from "../test-environments/index.ts";
import { testDebuggingGuide } from "./debugging.ts";

describe("debugging", { skip: kubectlMissing() ?? false }, () => {
  testDebuggingGuide(simulatedClusters);
});
