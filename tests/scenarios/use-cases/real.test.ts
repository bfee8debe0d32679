/** Goal: what people do with many clusters works on real ones, too: kube-apiserver, kube-controller-manager, and nodes that pretend. */
import { after, describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { RealClusters } from "../grounds/index.ts";
import { adminUseCases } from "./admin.ts";
import { affinityUseCases } from "./affinity.ts";
import { appTeamUseCases } from "./app-team.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("use cases on real clusters", { skip: missing ?? false }, () => {
  const ground = new RealClusters();
  after(() => ground.close());
  appTeamUseCases(ground);
  adminUseCases(ground);
  affinityUseCases(ground);
});
