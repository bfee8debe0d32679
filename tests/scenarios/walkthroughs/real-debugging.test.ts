/**
 * Goal: what `debugging.test.ts` says of simulated clusters holds for real ones, whose API servers
 * ask the kubelets.
 */
import { after, describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { RealClusters } from "../test-environments/index.ts";
import { testDebuggingGuide } from "./debugging.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("debugging on real clusters", { skip: missing ?? false }, () => {
  const environment = new RealClusters();
  after(() => environment.close());
  testDebuggingGuide(environment);
});
