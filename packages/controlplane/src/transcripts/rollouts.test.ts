/** Goal: a whole is rolled out, undone and restarted as any Deployment. */
import { describe } from "node:test";
import { playsRollouts } from "./plays.ts";
import { simulated } from "./stage.ts";
import { kubectlMissing } from "./terminal.ts";

describe("rollouts over simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  playsRollouts(simulated);
});
