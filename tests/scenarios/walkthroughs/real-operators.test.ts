/** Goal: what `operators.test.ts` says of simulated clusters holds for real ones. */
import { after, describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { RealClusters } from "../test-environments/index.ts";
import { testOperatorsGuide } from "./operators.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("operators on real clusters", { skip: missing ?? false }, () => {
  const environment = new RealClusters();
  after(() => environment.close());
  testOperatorsGuide(environment);
});
