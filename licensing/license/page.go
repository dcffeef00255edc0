package license
