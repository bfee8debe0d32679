/**
 * Goal: the use cases work on real clusters, too: kube-apiserver, kube-controller-manager, and
 * simulated nodes.
 */
import { after, describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { RealClusters } from "../test-environments/index.ts";
import { adminUseCases } from "./admin.ts";
import { affinityUseCases } from "./affinity.ts";
import { appTeamUseCases } from "./app-team.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("use cases on real clusters", { skip: missing ?? false }, () => {
  const environment = new RealClusters();
  after(() => environment.close());
  appTeamUseCases(environment);
  adminUseCases(environment);
  affinityUseCases(environment);
});
