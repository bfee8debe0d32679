/** Goal: docs/guides/operators.md tells the truth. */
import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { simulatedGround } from "../grounds/index.ts";
import { playsOperators } from "./operators.ts";

describe("operators on simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  playsOperators(simulatedGround);
});
