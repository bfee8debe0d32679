/** Goal: the second prototype's story can be typed: first the workload, then the clusters, one of which is lost. */

import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { playsPrototype2 } from "./plays.ts";
import { simulated } from "./stage.ts";

describe("the second prototype on simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  playsPrototype2(simulated);
});
