/** Goal: the demo of 2021 can be typed, and prints what it printed then. */

import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { playsKubecon } from "./plays.ts";
import { simulated } from "./stage.ts";

describe("KubeCon 2021 on simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  playsKubecon(simulated);
});
