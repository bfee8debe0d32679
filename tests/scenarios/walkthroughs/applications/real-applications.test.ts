/** Goal: what `applications.test.ts` says of simulated clusters holds for real ones. */
import { after, describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { RealClusters } from "../../test-environments/index.ts";
import { testApplications } from "./test-applications.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("applications, unchanged, on real clusters", { skip: missing ?? false }, () => {
  const environment = new RealClusters();
  testApplications(environment);
  // Behind what the play ends by itself, in this order.
  after(() => environment.close());
});
