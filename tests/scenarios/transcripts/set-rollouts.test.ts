/** Goal: a whole is rolled out, undone and restarted as any StatefulSet or DaemonSet. */

import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { playsSetRollouts } from "./plays.ts";
import { simulated } from "./stage.ts";

describe("rollouts of sets over simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  playsSetRollouts(simulated);
});
