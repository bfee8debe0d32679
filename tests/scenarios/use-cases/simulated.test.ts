/** Goal: what people do with many clusters works, on simulated ones. */
import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { simulatedClusters } from "../test-environments/index.ts";
import { adminUseCases } from "./admin.ts";
import { affinityUseCases } from "./affinity.ts";
import { appTeamUseCases } from "./app-team.ts";

describe("use cases on simulated clusters", { skip: kubectlMissing() ?? false }, () => {
  appTeamUseCases(simulatedClusters);
  adminUseCases(simulatedClusters);
  affinityUseCases(simulatedClusters);
});
