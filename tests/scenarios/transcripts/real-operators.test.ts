/** Goal: what `operators.test.ts` says of simulated clusters holds for real ones. */
import { after, describe } from "node:test";
import { kubeControllerManagerMissing, kubectlMissing } from "@kcp-ts/testkit";
import { RealGround } from "../grounds/index.ts";
import { playsOperators } from "./operators.ts";

const missing = kubectlMissing() ?? kubeControllerManagerMissing();

describe("operators on real clusters", { skip: missing ?? false }, () => {
  const ground = new RealGround();
  after(() => ground.close());
  playsOperators(ground);
});
