/* What a process costs that does nothing: c_face subtracts it. */
int main(void) { return 0; }
