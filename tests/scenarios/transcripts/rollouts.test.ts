/** Goal: a whole is rolled out, undone and restarted as any Deployment. */

import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { playsRollouts } from "./plays.ts";
import { simulated } from "./stage.ts";

describe("rollouts over simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  playsRollouts(simulated);
});
