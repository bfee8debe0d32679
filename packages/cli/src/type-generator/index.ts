export { type KindSource, kindFile, kindsOfDefinition } from "./kind-file.ts";
export { kindsOfCluster } from "./kinds-of-cluster.ts";
export { typeDepthMax } from "./schema-type.ts";
