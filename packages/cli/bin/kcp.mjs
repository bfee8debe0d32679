#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=262144 MALLOC_MMAP_THRESHOLD_=1048576 node --max-semi-space-size=32
// Memory is given back: few pools instead of one per thread, and thresholds that stand still (left to itself, glibc raises both to tens of megabytes and keeps as much).
// A larger nursery: what a request allocates is garbage when it is answered, and is not copied (a tenth of what a create costs).
import { programs } from "./bundle.mjs";

await programs.main(process.argv);
