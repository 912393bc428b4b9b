package shader

import "context"

var testContext = context.Background()
