// A kernel with a C++ name, as HIP gives them.
namespace app {
template <typename T> struct box {
  T v;
};
template <typename T> __attribute__((amdgpu_kernel)) void scale(T *p, box<T> b) {
  p[__builtin_amdgcn_workitem_id_x()] *= b.v;
}
template void scale<float>(float *, box<float>);
} // namespace app
