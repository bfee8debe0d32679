/** Goal: docs/guides/debugging.md tells the truth, in both modes: its blocks are typed into a terminal, with the kubectl of this machine. */
import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { simulatedGround } from "../grounds/index.ts";
import { playsDebugging } from "./debugging.ts";

describe("debugging", { skip: kubectlMissing() ?? false }, () => {
  playsDebugging(simulatedGround);
});
