export {
  type Borrower,
  type Ground,
  type GroundCluster,
  simulatedGround,
} from "./ground.ts";
export { startRealCluster } from "./real-cluster.ts";
export { RealGround } from "./real-ground.ts";
